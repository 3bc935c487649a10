package daskdl;

import java.io.File;
import java.lang.reflect.Modifier;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.nd4j.shade.jackson.databind.JsonNode;

/** Which classes DL4J's jars have of each kind that a file or a program may name. */
final class Subtypes {
    private Subtypes() {}

    /** Answers, for each interface or class that was asked for, those that can be made. */
    static Map<String, Object> list(JsonNode command) throws Exception {
        Map<String, Class<?>> roots = new LinkedHashMap<>();
        Map<String, Object> found = new TreeMap<>();
        for (JsonNode name : command.get("of")) {
            roots.put(name.asText(), Class.forName(name.asText(), false, loader()));
            found.put(name.asText(), new TreeSet<String>());
        }
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            boolean isAsked = path.contains("deeplearning4j") || path.contains("nd4j-api");
            if (isAsked && path.endsWith(".jar")) {
                lookInto(new JarFile(path), roots, found);
            }
        }
        return found;
    }

    @SuppressWarnings("unchecked")
    private static void lookInto(
            JarFile jar, Map<String, Class<?>> roots, Map<String, Object> found) {
        for (Enumeration<JarEntry> all = jar.entries(); all.hasMoreElements(); ) {
            String entry = all.nextElement().getName();
            if (!entry.endsWith(".class")) {
                continue;
            }
            String name = entry.substring(0, entry.length() - 6).replace('/', '.');
            Class<?> kind = loaded(name);
            if (kind == null || kind.isInterface() || Modifier.isAbstract(kind.getModifiers())) {
                continue;
            }
            roots.forEach((root, type) -> {
                if (type.isAssignableFrom(kind)) {
                    ((TreeSet<String>) found.get(root)).add(name);
                }
            });
        }
    }

    private static Class<?> loaded(String name) {
        try {
            return Class.forName(name, false, loader());
        } catch (Throwable thrown) {
            // Of a library that is not here: nothing that could be read either.
            return null;
        }
    }

    private static ClassLoader loader() {
        return Subtypes.class.getClassLoader();
    }
}
