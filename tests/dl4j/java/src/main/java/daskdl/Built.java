package daskdl;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.shade.jackson.databind.JsonNode;

/** Networks that are built as DL4J's users build them, from a {@link Described}. */
final class Built {
    private Built() {}

    /** Builds a network, gives it random parameters, and saves it. */
    static Map<String, Object> build(JsonNode command) throws Exception {
        JsonNode described = command.get("network");
        NeuralNetConfiguration.Builder builder = new NeuralNetConfiguration.Builder();
        builder.dataType(DataType.DOUBLE);
        Described.callAll(builder, described.get("global"));
        Model model = described.has("layers")
                ? layers(builder, described)
                : graph(builder, described);
        randomize(model, new Random(command.get("seed").asLong()));
        ModelSerializer.writeModel(model, new File(command.get("save").asText()), true);
        return Map.of("n_params", model.numParams());
    }

    private static Model layers(NeuralNetConfiguration.Builder global, JsonNode described)
            throws Exception {
        NeuralNetConfiguration.ListBuilder builder = global.list();
        for (JsonNode layer : described.get("layers")) {
            builder.layer((Layer) Described.object(layer));
        }
        for (JsonNode each : described.path("preprocessors")) {
            Object made = Described.object(each.get(1));
            builder.inputPreProcessor(each.get(0).asInt(), (InputPreProcessor) made);
        }
        if (described.has("input_types")) {
            builder.setInputType(types(described)[0]);
        }
        Described.callAll(builder, described.path("then"));
        MultiLayerNetwork network = new MultiLayerNetwork(builder.build());
        network.init();
        return network;
    }

    private static Model graph(NeuralNetConfiguration.Builder global, JsonNode described)
            throws Exception {
        GraphBuilder builder = global.graphBuilder();
        builder.addInputs(texts(described.get("inputs")));
        for (JsonNode vertex : described.get("vertices")) {
            String name = vertex.get(0).asText();
            Object made = Described.object(vertex.get(1));
            String[] inputs = texts(vertex.get(2));
            if (made instanceof Layer) {
                builder.addLayer(name, (Layer) made, inputs);
            } else {
                builder.addVertex(name, (GraphVertex) made, inputs);
            }
        }
        builder.setOutputs(texts(described.get("outputs")));
        if (described.has("input_types")) {
            builder.setInputTypes(types(described));
        }
        Described.callAll(builder, described.path("then"));
        ComputationGraph network = new ComputationGraph(builder.build());
        network.init();
        return network;
    }

    private static InputType[] types(JsonNode described) throws Exception {
        List<InputType> types = new ArrayList<>();
        for (JsonNode type : described.get("input_types")) {
            types.add((InputType) Described.object(type));
        }
        return types.toArray(new InputType[0]);
    }

    private static String[] texts(JsonNode values) {
        List<String> texts = new ArrayList<>();
        values.forEach(value -> texts.add(value.asText()));
        return texts.toArray(new String[0]);
    }

    /** Moves every parameter off its initial value; variances stay positive. */
    private static void randomize(Model model, Random random) {
        Map<String, INDArray> table = model instanceof ComputationGraph
                ? ((ComputationGraph) model).paramTable()
                : ((MultiLayerNetwork) model).paramTable();
        for (Map.Entry<String, INDArray> each : table.entrySet()) {
            INDArray array = each.getValue();
            boolean isVariance = each.getKey().endsWith("_var");
            for (long i = 0; i < array.length(); i++) {
                double value = array.getDouble(i) + 0.3 * random.nextGaussian();
                array.putScalar(i, isVariance ? Math.abs(value) + 0.5 : value);
            }
        }
    }
}
