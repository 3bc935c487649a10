package bench;

import java.util.Random;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The networks of benchmarks/serve/shapes.py. */
final class Networks {
    static final String[] NAMES = {"lenet", "mlp", "lstm", "resnet"};

    private static final Runnable NOTHING = () -> {};

    private Networks() {}

    static Server.Work make(String name, String what) {
        boolean isTraining = what.equals("fit");
        DataSet batch = batch(name);
        INDArray features = batch.getFeatures();
        if (name.equals("resnet")) {
            ComputationGraph graph = resnet();
            return new Server.Work(isTraining ? () -> graph.fit(batch) : () -> graph.output(false, features), NOTHING);
        }
        MultiLayerNetwork network = new MultiLayerNetwork(layers(name).build());
        network.init();
        return new Server.Work(isTraining ? () -> network.fit(batch) : () -> network.output(features, false), NOTHING);
    }

    private static NeuralNetConfiguration.Builder defaults() {
        return new NeuralNetConfiguration.Builder()
                .seed(7)
                .dataType(DataType.FLOAT)
                .weightInit(WeightInit.XAVIER)
                .updater(new Nesterovs(0.001, 0.9));
    }

    private static ListBuilder layers(String name) {
        ListBuilder list = defaults().list();
        switch (name) {
            case "lenet":
                return list.layer(convolution(5, 1, 20, true)).layer(pooling())
                        .layer(convolution(5, 1, 50, true)).layer(pooling())
                        .layer(dense(500)).layer(classes())
                        .setInputType(InputType.convolutional(28, 28, 1));
            case "mlp":
                return list.layer(dense(1000)).layer(dense(1000)).layer(classes())
                        .setInputType(InputType.feedForward(784));
            case "lstm":
                return list.layer(lstm()).layer(lstm())
                        .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT).activation(Activation.SOFTMAX).nOut(77).build())
                        .setInputType(InputType.recurrent(77, 50));
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static ConvolutionLayer convolution(int size, int stride, int nOut, boolean isTruncated) {
        return new ConvolutionLayer.Builder(size, size)
                .stride(stride, stride)
                .nOut(nOut)
                .hasBias(isTruncated)
                .convolutionMode(isTruncated ? ConvolutionMode.Truncate : ConvolutionMode.Same)
                .activation(Activation.IDENTITY)
                .build();
    }

    private static SubsamplingLayer pooling() {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX).kernelSize(2, 2).stride(2, 2).build();
    }

    private static DenseLayer dense(int nOut) {
        return new DenseLayer.Builder().nOut(nOut).activation(Activation.RELU).build();
    }

    private static LSTM lstm() {
        return new LSTM.Builder().nOut(200).activation(Activation.TANH)
                .gateActivationFunction(Activation.SIGMOID).build();
    }

    private static OutputLayer classes() {
        return new OutputLayer.Builder(LossFunction.MCXENT).activation(Activation.SOFTMAX).nOut(10).build();
    }

    private static ComputationGraph resnet() {
        GraphBuilder graph = defaults().graphBuilder().addInputs("image")
                .setInputTypes(InputType.convolutional(32, 32, 3));
        String x = relu(graph, "stem", normalised(graph, "stem", "image", 3, 1, 16));
        x = block(graph, "a", x, 1, 16);
        x = block(graph, "b", x, 2, 32);
        x = block(graph, "c", x, 2, 64);
        graph.addLayer("means", new GlobalPoolingLayer.Builder(PoolingType.AVG).build(), x);
        graph.addLayer("classes", classes(), "means");
        ComputationGraph network = new ComputationGraph(graph.setOutputs("classes").build());
        network.init();
        return network;
    }

    private static String block(GraphBuilder graph, String name, String x, int stride, int nOut) {
        String first = relu(graph, name + "-1", normalised(graph, name + "-1", x, 3, stride, nOut));
        String second = normalised(graph, name + "-2", first, 3, 1, nOut);
        String shortcut = stride == 1 ? x : normalised(graph, name + "-shortcut", x, 1, stride, nOut);
        graph.addVertex(name + "-sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), second, shortcut);
        return relu(graph, name, name + "-sum");
    }

    private static String normalised(GraphBuilder graph, String name, String x, int size, int stride, int nOut) {
        graph.addLayer(name + "-conv", convolution(size, stride, nOut, false), x);
        graph.addLayer(name + "-norm", new BatchNormalization.Builder().build(), name + "-conv");
        return name + "-norm";
    }

    /** DL4J's batch normalization ignores an activation of its own. */
    private static String relu(GraphBuilder graph, String name, String x) {
        graph.addLayer(name + "-relu", new ActivationLayer(Activation.RELU), x);
        return name + "-relu";
    }

    private static DataSet batch(String name) {
        Random random = new Random(1);
        switch (name) {
            case "lenet":
                return new DataSet(Nd4j.randn(DataType.FLOAT, 64, 1, 28, 28), oneHot(random, 64));
            case "mlp":
                return new DataSet(Nd4j.randn(DataType.FLOAT, 128, 784), oneHot(random, 128));
            case "resnet":
                return new DataSet(Nd4j.randn(DataType.FLOAT, 64, 3, 32, 32), oneHot(random, 64));
            default:
                INDArray labels = Nd4j.zeros(DataType.FLOAT, 32, 77, 50);
                for (int row = 0; row < 32; row++)
                    for (int step = 0; step < 50; step++)
                        labels.putScalar(row, random.nextInt(77), step, 1);
                return new DataSet(Nd4j.randn(DataType.FLOAT, 32, 77, 50), labels);
        }
    }

    private static INDArray oneHot(Random random, int rows) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, rows, 10);
        for (int row = 0; row < rows; row++) labels.putScalar(row, random.nextInt(10), 1);
        return labels;
    }
}
