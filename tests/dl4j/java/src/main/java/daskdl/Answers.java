package daskdl;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.shade.jackson.databind.JsonNode;
import org.nd4j.shade.jackson.databind.ObjectMapper;

/**
 * Does with DL4J what its input says: a JSON command a line, and a JSON answer a line.
 *
 * <p>An answer begins with {@link #MARK}, because native code prints too. It is {"ok":
 * ...} or {"error": message, "at": place}. The process ends with its input.
 */
public final class Answers {
    static final String MARK = "answer ";

    private interface Command {
        Map<String, Object> run(JsonNode command) throws Exception;
    }

    private static final Map<String, Command> COMMANDS = new LinkedHashMap<>();

    static {
        COMMANDS.put("array", Stored::array);
        COMMANDS.put("build", Built::build);
        COMMANDS.put("configuration", Stored::configuration);
        COMMANDS.put("dataset", Stored::dataSet);
        COMMANDS.put("early_stopping", EarlyStopped::train);
        COMMANDS.put("evaluation", Stored::evaluation);
        COMMANDS.put("file_batch", Stored::fileBatch);
        COMMANDS.put("fit", Models::fit);
        COMMANDS.put("multi_dataset", Stored::multiDataSet);
        COMMANDS.put("normalizer", Stored::normalizer);
        COMMANDS.put("output", Models::output);
        COMMANDS.put("pre_process", PreProcessors::preProcess);
        COMMANDS.put("roles", Roles::roles);
        COMMANDS.put("share_kept", PreProcessors::shareKept);
        COMMANDS.put("subtypes", Subtypes::list);
    }

    private Answers() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        ObjectMapper json = new ObjectMapper();
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String answer = json.writeValueAsString(answer(json.readTree(line)));
            answers.write(("\n" + MARK + answer + "\n").getBytes(StandardCharsets.UTF_8));
            answers.flush();
        }
    }

    private static Map<String, Object> answer(JsonNode command) {
        // Some layers allocate in the default type of the process, not in the network's.
        boolean isDouble = command.path("dtype").asText().equals("float64");
        DataType type = isDouble ? DataType.DOUBLE : DataType.FLOAT;
        Nd4j.setDefaultDataTypes(type, type);
        Map<String, Object> answer = new LinkedHashMap<>();
        try {
            answer.put("ok", COMMANDS.get(command.get("do").asText()).run(command));
        } catch (Throwable thrown) {
            Throwable cause = thrown;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            StackTraceElement[] trace = cause.getStackTrace();
            answer.put("error", cause.toString());
            answer.put("at", trace.length > 0 ? trace[0].toString() : "");
        }
        return answer;
    }
}
