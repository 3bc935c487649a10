package daskdl;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.common.loader.FileBatch;
import org.nd4j.evaluation.BaseEvaluation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.dataset.api.preprocessor.DataNormalization;
import org.nd4j.linalg.dataset.api.preprocessor.MultiDataNormalization;
import org.nd4j.linalg.dataset.api.preprocessor.Normalizer;
import org.nd4j.linalg.dataset.api.preprocessor.serializer.NormalizerSerializer;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.shade.jackson.databind.JsonNode;

/** What is in files: each is read, and written again where the command says "out". */
final class Stored {
    private Stored() {}

    /** Answers type, order, shape and values. */
    static Map<String, Object> array(JsonNode command) throws Exception {
        INDArray array = read(command.get("path").asText());
        write(array, out(command));
        List<Object> values = new ArrayList<>();
        INDArray flat = array.dup('c').reshape(array.length());
        for (long i = 0; i < flat.length(); i++) {
            if (array.dataType().isFPType()) {
                values.add(flat.getDouble(i));
            } else {
                values.add(flat.getLong(i));
            }
        }
        return Map.of(
                "type", array.dataType().name(),
                "order", String.valueOf(array.ordering()),
                "shape", array.shape(),
                "values", values);
    }

    static Map<String, Object> dataSet(JsonNode command) throws Exception {
        load(command.get("path").asText()).save(out(command));
        return Map.of();
    }

    static Map<String, Object> multiDataSet(JsonNode command) throws Exception {
        loadMulti(command.get("path").asText()).save(out(command));
        return Map.of();
    }

    /** Answers what the files of a batch were called and how long they are. */
    static Map<String, Object> fileBatch(JsonNode command) throws Exception {
        FileBatch batch = FileBatch.readFromZip(new File(command.get("path").asText()));
        batch.writeAsZip(out(command));
        List<Integer> sizes = new ArrayList<>();
        for (byte[] content : batch.getFileBytes()) {
            sizes.add(content.length);
        }
        return Map.of("uris", batch.getOriginalUris(), "sizes", sizes);
    }

    /** Answers the texts that DL4J writes of a configuration that it has read. */
    static Map<String, Object> configuration(JsonNode command) throws Exception {
        String text = Files.readString(new File(command.get("path").asText()).toPath());
        boolean isYaml = command.get("style").asText().equals("yaml");
        if (command.get("is_graph").asBoolean()) {
            ComputationGraphConfiguration graph = isYaml
                    ? ComputationGraphConfiguration.fromYaml(text)
                    : ComputationGraphConfiguration.fromJson(text);
            return Map.of("json", graph.toJson(), "yaml", graph.toYaml());
        }
        MultiLayerConfiguration layers = isYaml
                ? MultiLayerConfiguration.fromYaml(text)
                : MultiLayerConfiguration.fromJson(text);
        return Map.of("json", layers.toJson(), "yaml", layers.toYaml());
    }

    /** Reads a normalizer from its own file or from a model, and transforms with it. */
    static Map<String, Object> normalizer(JsonNode command) throws Exception {
        NormalizerSerializer serializer = NormalizerSerializer.getDefault();
        Normalizer<?> normalizer = command.has("model")
                ? ModelSerializer.restoreNormalizerFromFile(
                        new File(command.get("model").asText()))
                : serializer.restore(new File(command.get("path").asText()));
        serializer.write(normalizer, out(command));
        File transformed = new File(command.get("transformed").asText());
        if (normalizer instanceof MultiDataNormalization) {
            MultiDataSet data = loadMulti(command.get("dataset").asText());
            ((MultiDataNormalization) normalizer).transform(data);
            data.save(transformed);
        } else {
            DataSet data = load(command.get("dataset").asText());
            ((DataNormalization) normalizer).transform(data);
            data.save(transformed);
        }
        return Map.of("class", normalizer.getClass().getSimpleName());
    }

    /** Answers JSON and statistics of an evaluation that was read from JSON. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> evaluation(JsonNode command) throws Exception {
        String text = Files.readString(new File(command.get("path").asText()).toPath());
        Class<? extends BaseEvaluation> kind = (Class<? extends BaseEvaluation>)
                Class.forName("org.nd4j.evaluation." + command.get("class").asText());
        BaseEvaluation<?> evaluation = BaseEvaluation.fromJson(text, kind);
        return Map.of("json", evaluation.toJson(), "stats", evaluation.stats());
    }

    static INDArray[] arrays(JsonNode paths) throws Exception {
        INDArray[] arrays = new INDArray[paths.size()];
        for (int i = 0; i < arrays.length; i++) {
            arrays[i] = paths.get(i).isNull() ? null : read(paths.get(i).asText());
        }
        return arrays;
    }

    static DataSet load(String path) {
        DataSet data = new DataSet();
        data.load(new File(path));
        return data;
    }

    static MultiDataSet loadMulti(String path) throws Exception {
        MultiDataSet data = new MultiDataSet();
        data.load(new File(path));
        return data;
    }

    private static INDArray read(String path) throws Exception {
        try (DataInputStream stream = new DataInputStream(new FileInputStream(path))) {
            return Nd4j.read(stream);
        }
    }

    static void write(INDArray array, File file) throws Exception {
        try (DataOutputStream stream = new DataOutputStream(
                new BufferedOutputStream(new FileOutputStream(file)))) {
            Nd4j.write(array, stream);
        }
    }

    static File out(JsonNode command) {
        return new File(command.get("out").asText());
    }
}
