package daskdl;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.ZipFile;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.shade.jackson.databind.JsonNode;
import org.nd4j.shade.jackson.databind.ObjectMapper;

/** What a model file is asked for: outputs, and further training. */
final class Models {
    private Models() {}

    /** Writes one array an output to out/0, out/1, ...; answers how many. */
    static Map<String, Object> output(JsonNode command) throws Exception {
        INDArray[] inputs = Stored.arrays(command.get("inputs"));
        INDArray[] featuresMasks = masks(command, "features_masks");
        INDArray[] labelsMasks = masks(command, "labels_masks");
        Model model = restore(new File(command.get("model").asText()));
        INDArray[] outputs;
        if (model instanceof ComputationGraph) {
            outputs = ((ComputationGraph) model)
                    .output(false, inputs, featuresMasks, labelsMasks);
        } else {
            outputs = new INDArray[] {
                ((MultiLayerNetwork) model)
                        .output(inputs[0], false, first(featuresMasks), first(labelsMasks))
            };
        }
        for (int i = 0; i < outputs.length; i++) {
            Stored.write(outputs[i], new File(command.get("out").asText(), "" + i));
        }
        return Map.of("n_outputs", outputs.length);
    }

    /**
     * Trains on minibatches in turn, or for whole epochs; saves; answers the scores of
     * all minibatches, or of the last one.
     */
    static Map<String, Object> fit(JsonNode command) throws Exception {
        Model model = restore(new File(command.get("model").asText()));
        shake(model, command.path("shaken_by").asDouble(0));
        List<Double> scores = new ArrayList<>();
        pretrain(model, command);
        int epochs = command.path("epochs").asInt(0);
        if (epochs > 0) {
            List<DataSet> all = new ArrayList<>();
            for (JsonNode path : command.get("datasets")) {
                all.add(Stored.load(path.asText()));
            }
            fitEpochs(model, all, epochs);
            scores.add(model.score());
        } else {
            boolean scoresFirst = command.path("scores_first").asBoolean();
            for (JsonNode path : command.get("datasets")) {
                boolean isMulti = command.path("multi").asBoolean();
                if (scoresFirst) {
                    scores.add(score(model, path.asText(), isMulti));
                }
                fitOne(model, path.asText(), isMulti);
                if (!scoresFirst) {
                    scores.add(model.score());
                }
            }
        }
        ModelSerializer.writeModel(model, new File(command.get("save").asText()), true);
        return Map.of("scores", scores);
    }

    /** Changes each parameter by some share of itself: what follows shows rounding. */
    private static void shake(Model model, double share) {
        if (share > 0) {
            INDArray params = model.params();
            Random random = new Random(1);
            for (long i = 0; i < params.length(); i++) {
                double value = params.getDouble(i);
                params.putScalar(i, value * (1 + share * random.nextGaussian()));
            }
        }
    }

    private static void pretrain(Model model, JsonNode command) {
        int epochs = command.path("pretrain").asInt(0);
        if (epochs == 0) {
            return;
        }
        List<DataSet> all = new ArrayList<>();
        for (JsonNode path : command.get("datasets")) {
            all.add(Stored.load(path.asText()));
        }
        ExistingDataSetIterator iterator = new ExistingDataSetIterator(all);
        if (model instanceof ComputationGraph) {
            ((ComputationGraph) model).pretrain(iterator, epochs);
        } else {
            ((MultiLayerNetwork) model).pretrain(iterator, epochs);
        }
    }

    private static void fitEpochs(Model model, List<DataSet> all, int epochs) {
        ExistingDataSetIterator iterator = new ExistingDataSetIterator(all);
        if (model instanceof ComputationGraph) {
            ((ComputationGraph) model).fit(iterator, epochs);
        } else {
            ((MultiLayerNetwork) model).fit(iterator, epochs);
        }
    }

    private static double score(Model model, String path, boolean isMulti)
            throws Exception {
        if (isMulti) {
            MultiDataSet data = new MultiDataSet();
            data.load(new File(path));
            return ((ComputationGraph) model).score(data, true);
        }
        return model instanceof ComputationGraph
                ? ((ComputationGraph) model).score(Stored.load(path), true)
                : ((MultiLayerNetwork) model).score(Stored.load(path), true);
    }

    private static void fitOne(Model model, String path, boolean isMulti)
            throws Exception {
        if (isMulti) {
            MultiDataSet data = new MultiDataSet();
            data.load(new File(path));
            ((ComputationGraph) model).fit(data);
        } else if (model instanceof ComputationGraph) {
            ((ComputationGraph) model).fit(Stored.load(path));
        } else {
            ((MultiLayerNetwork) model).fit(Stored.load(path));
        }
    }

    private static Model restore(File file) throws Exception {
        boolean isGraph;
        try (ZipFile zip = new ZipFile(file)) {
            JsonNode configuration = new ObjectMapper()
                    .readTree(zip.getInputStream(zip.getEntry("configuration.json")));
            isGraph = configuration.has("vertices");
        }
        return isGraph
                ? ModelSerializer.restoreComputationGraph(file, true)
                : ModelSerializer.restoreMultiLayerNetwork(file, true);
    }

    private static INDArray[] masks(JsonNode command, String key) throws Exception {
        return command.has(key) ? Stored.arrays(command.get(key)) : null;
    }

    private static INDArray first(INDArray[] arrays) {
        return arrays == null ? null : arrays[0];
    }
}
