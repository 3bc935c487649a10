package daskdl;

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.shade.jackson.databind.JsonNode;

/**
 * Makes DL4J's objects from descriptions in JSON, by the names that DL4J's users write.
 *
 * <ul>
 *   <li>{"new": "Adam", "args": [0.01]} calls a constructor;
 *   <li>{"build": "DenseLayer", "args": [], "with": [["nOut", 4]]} a builder;
 *   <li>{"static": "InputType", "call": "recurrent", "args": [3]} a static method;
 *   <li>{"array": [1.0, 2.0]} is an array of ND4J;
 *   <li>texts are texts, or constants of enumerations.
 * </ul>
 */
final class Described {
    private static final String NN = "org.deeplearning4j.nn.conf.";
    private static final String ND = "org.nd4j.linalg.";
    private static final String[] PACKAGES = {
        NN,
        NN + "layers.",
        NN + "layers.convolutional.",
        NN + "layers.misc.",
        NN + "layers.objdetect.",
        NN + "layers.recurrent.",
        NN + "layers.util.",
        NN + "layers.variational.",
        NN + "constraint.",
        NN + "distribution.",
        NN + "dropout.",
        NN + "graph.",
        NN + "graph.rnn.",
        NN + "inputs.",
        NN + "ocnn.",
        NN + "preprocessor.",
        NN + "weightnoise.",
        "org.deeplearning4j.nn.weights.",
        ND + "activations.impl.",
        ND + "learning.config.",
        ND + "lossfunctions.impl.",
        ND + "schedule.",
    };

    private Described() {}

    /** Returns what an object of the description stands for. */
    static Object object(JsonNode value) throws Exception {
        if (value.has("array")) {
            return Nd4j.create(doubles(value.get("array")));
        }
        JsonNode arguments = value.path("args");
        if (value.has("static")) {
            Class<?> type = type(value.get("static").asText());
            return call(type, null, value.get("call").asText(), arguments);
        }
        if (value.has("new")) {
            return construct(type(value.get("new").asText()), arguments);
        }
        Class<?> type = type(value.get("build").asText());
        Object builder = construct(builderOf(type), arguments);
        callAll(builder, value.path("with"));
        return call(builder.getClass(), builder, "build", null);
    }

    /** Calls methods in turn: [["nOut", 4], ...]. */
    static void callAll(Object target, JsonNode calls) throws Exception {
        for (JsonNode each : calls) {
            List<JsonNode> arguments = new ArrayList<>();
            for (int i = 1; i < each.size(); i++) {
                arguments.add(each.get(i));
            }
            call(target.getClass(), target, each.get(0).asText(), arguments);
        }
    }

    private static Class<?> builderOf(Class<?> type) throws ClassNotFoundException {
        return Class.forName(type.getName() + "$Builder");
    }

    private static Class<?> type(String name) throws ClassNotFoundException {
        for (String place : PACKAGES) {
            try {
                return Class.forName(place + name);
            } catch (ClassNotFoundException | NoClassDefFoundError absent) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static Object construct(Class<?> type, Iterable<JsonNode> arguments)
            throws Exception {
        for (Constructor<?> each : sorted(type.getConstructors())) {
            Object[] converted = arguments(each, list(arguments));
            if (converted != null) {
                return invoke(() -> each.newInstance(converted));
            }
        }
        throw new NoSuchMethodException(type + " of " + arguments);
    }

    private static Object call(
            Class<?> type, Object target, String name, Iterable<JsonNode> arguments)
            throws Exception {
        for (Method each : sorted(type.getMethods())) {
            boolean fits = each.getName().equals(name)
                    && Modifier.isStatic(each.getModifiers()) == (target == null);
            Object[] converted = fits ? arguments(each, list(arguments)) : null;
            if (converted != null) {
                each.setAccessible(true);
                return invoke(() -> each.invoke(target, converted));
            }
        }
        throw new NoSuchMethodException(type + "." + name + " of " + arguments);
    }

    private interface Invocation {
        Object run() throws Exception;
    }

    private static Object invoke(Invocation invocation) throws Exception {
        try {
            return invocation.run();
        } catch (InvocationTargetException thrown) {
            throw (Exception) thrown.getCause();
        }
    }

    private static <E extends Executable> E[] sorted(E[] all) {
        // Reflection promises no order. Bridges take anything, so they come last.
        Comparator<E> bridgesLast = Comparator.comparing(Executable::isSynthetic);
        Arrays.sort(all, bridgesLast.thenComparing(each -> each.toString()));
        return all;
    }

    private static List<JsonNode> list(Iterable<JsonNode> arguments) {
        List<JsonNode> all = new ArrayList<>();
        if (arguments != null) {
            arguments.forEach(all::add);
        }
        return all;
    }

    /** Returns the arguments as an executable wants them, or null if they do not fit. */
    private static Object[] arguments(Executable executable, List<JsonNode> given)
            throws Exception {
        Class<?>[] types = executable.getParameterTypes();
        int n = types.length;
        Object[] converted = new Object[n];
        boolean spreads = executable.isVarArgs()
                && !(given.size() == n && given.get(n - 1).isArray());
        if (spreads ? given.size() < n - 1 : given.size() != n) {
            return null;
        }
        for (int i = 0; i < (spreads ? n - 1 : n); i++) {
            converted[i] = converted(given.get(i), types[i]);
            if (converted[i] == null) {
                return null;
            }
        }
        if (spreads) {
            converted[n - 1] = array(given.subList(n - 1, given.size()), types[n - 1]);
            if (converted[n - 1] == null) {
                return null;
            }
        }
        return converted;
    }

    private static Object converted(JsonNode value, Class<?> type) throws Exception {
        if (type.isArray()) {
            return value.isArray() ? array(list(value), type) : null;
        }
        if (value.isBoolean()) {
            return type == boolean.class || type == Boolean.class ? value.asBoolean() : null;
        }
        if (value.isNumber()) {
            return number(value, type);
        }
        if (value.isTextual()) {
            return text(value.asText(), type);
        }
        if (!value.isObject()) {
            return null;
        }
        Object object = object(value);
        return type.isInstance(object) ? object : null;
    }

    private static Object number(JsonNode value, Class<?> type) {
        if (type == double.class || type == Double.class) {
            return value.asDouble();
        }
        if (!value.isIntegralNumber()) {
            return null;
        }
        if (type == int.class || type == Integer.class) {
            return value.asInt();
        }
        return type == long.class ? (Object) value.asLong() : null;
    }

    private static Object text(String text, Class<?> type) {
        if (type == String.class) {
            return text;
        }
        if (!type.isEnum()) {
            return null;
        }
        for (Object constant : type.getEnumConstants()) {
            if (((Enum<?>) constant).name().equals(text)) {
                return constant;
            }
        }
        return null;
    }

    private static Object array(List<JsonNode> values, Class<?> type) throws Exception {
        Object array = Array.newInstance(type.getComponentType(), values.size());
        for (int i = 0; i < values.size(); i++) {
            Object item = converted(values.get(i), type.getComponentType());
            if (item == null) {
                return null;
            }
            Array.set(array, i, item);
        }
        return array;
    }

    private static double[] doubles(JsonNode values) {
        double[] numbers = new double[values.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = values.get(i).asDouble();
        }
        return numbers;
    }
}
