package daskdl;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.ParamInitializer;
import org.deeplearning4j.nn.api.TrainingConfig;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.shade.jackson.databind.JsonNode;

/** How each parameter of a model is treated: what its layer and initializer say. */
final class Roles {
    private Roles() {}

    /** Answers updater, l2, groups and whether only pretraining learns it, by name. */
    static Map<String, Object> roles(JsonNode command) throws Exception {
        MultiLayerNetwork network = ModelSerializer.restoreMultiLayerNetwork(
                new File(command.get("model").asText()), true);
        Map<String, Object> roles = new TreeMap<>();
        for (int i = 0; i < network.getnLayers(); i++) {
            Layer layer = network.getLayer(i);
            for (String key : layer.paramTable(false).keySet()) {
                roles.put(i + "_" + key, role(layer, key));
            }
        }
        return roles;
    }

    private static Map<String, Object> role(Layer layer, String key) {
        TrainingConfig config = layer.getConfig();
        IUpdater updater = config.getUpdaterByParam(key);
        return Map.of(
                "updater", updater == null ? "NoOp" : updater.getClass().getSimpleName(),
                "l2", l2(config.getRegularizationByParam(key)),
                "groups", groups(layer.conf().getLayer(), key),
                "pretraining", config.isPretrainParam(key));
    }

    private static double l2(List<Regularization> all) {
        double sum = 0;
        if (all != null) {
            for (Regularization each : all) {
                sum += ((L2Regularization) each).getL2().valueAt(0, 0);
            }
        }
        return sum;
    }

    private static List<String> groups(
            org.deeplearning4j.nn.conf.layers.Layer conf, String key) {
        ParamInitializer initializer = conf.initializer();
        List<String> groups = new ArrayList<>();
        if (initializer.paramKeys(conf).contains(key)) {
            groups.add("all");
        }
        if (initializer.biasKeys(conf).contains(key)) {
            groups.add("biases");
        }
        if (initializer.weightKeys(conf).contains(key)) {
            groups.add("weights");
        }
        return groups;
    }
}
