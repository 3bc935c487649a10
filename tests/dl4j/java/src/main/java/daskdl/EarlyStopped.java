package daskdl;

import java.io.File;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.saver.InMemoryModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.ClassificationScoreCalculator;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.scorecalc.ROCScoreCalculator;
import org.deeplearning4j.earlystopping.scorecalc.RegressionScoreCalculator;
import org.deeplearning4j.earlystopping.scorecalc.ScoreCalculator;
import org.deeplearning4j.earlystopping.termination.BestScoreEpochTerminationCondition;
import org.deeplearning4j.earlystopping.termination.EpochTerminationCondition;
import org.deeplearning4j.earlystopping.termination.InvalidScoreIterationTerminationCondition;
import org.deeplearning4j.earlystopping.termination.IterationTerminationCondition;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.earlystopping.termination.MaxScoreIterationTerminationCondition;
import org.deeplearning4j.earlystopping.termination.MaxTimeIterationTerminationCondition;
import org.deeplearning4j.earlystopping.termination.ScoreImprovementEpochTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingTrainer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.evaluation.regression.RegressionEvaluation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.shade.jackson.databind.JsonNode;

/** Trains with early stopping; answers what DL4J's result tells, and saves the best. */
final class EarlyStopped {
    private EarlyStopped() {}

    static Map<String, Object> train(JsonNode command) throws Exception {
        MultiLayerNetwork network = ModelSerializer.restoreMultiLayerNetwork(
                new File(command.get("model").asText()), true);
        EarlyStoppingConfiguration.Builder<MultiLayerNetwork> builder =
                new EarlyStoppingConfiguration.Builder<MultiLayerNetwork>()
                        .modelSaver(new InMemoryModelSaver<>())
                        .evaluateEveryNEpochs(command.get("every").asInt())
                        .scoreCalculator(calculator(command));
        List<EpochTerminationCondition> ofEpochs = new ArrayList<>();
        List<IterationTerminationCondition> ofIterations = new ArrayList<>();
        for (JsonNode one : command.get("conditions")) {
            if (one.get("type").asText().endsWith("EpochTerminationCondition")
                    || one.get("type").asText().startsWith("MaxEpochs")) {
                ofEpochs.add(ofEpochs(one));
            } else {
                ofIterations.add(ofIterations(one));
            }
        }
        builder.epochTerminationConditions(ofEpochs);
        builder.iterationTerminationConditions(
                ofIterations.toArray(new IterationTerminationCondition[0]));
        EarlyStoppingResult<MultiLayerNetwork> result = new EarlyStoppingTrainer(
                        builder.build(), network, iterator(command.get("train")))
                .fit();
        ModelSerializer.writeModel(
                result.getBestModel(), new File(command.get("save").asText()), true);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("reason", result.getTerminationReason().toString());
        answer.put("details", result.getTerminationDetails());
        answer.put("scores", result.getScoreVsEpoch());
        answer.put("best_epoch", result.getBestModelEpoch());
        answer.put("best_score", result.getBestModelScore());
        answer.put("total_epochs", result.getTotalEpochs());
        return answer;
    }

    private static DataSetIterator iterator(JsonNode paths) throws Exception {
        List<DataSet> all = new ArrayList<>();
        for (JsonNode path : paths) {
            all.add(Stored.load(path.asText()));
        }
        return new ExistingDataSetIterator(all);
    }

    private static ScoreCalculator<?> calculator(JsonNode command) throws Exception {
        DataSetIterator data = iterator(command.get("held_back"));
        String metric = command.get("metric").asText();
        switch (command.get("calculator").asText()) {
            case "ClassificationScoreCalculator":
                return new ClassificationScoreCalculator(
                        Evaluation.Metric.valueOf(metric), data);
            case "RegressionScoreCalculator":
                return new RegressionScoreCalculator(
                        RegressionEvaluation.Metric.valueOf(metric), data);
            case "ROCScoreCalculator":
                return new ROCScoreCalculator(
                        ROCScoreCalculator.ROCType.MULTICLASS,
                        ROCScoreCalculator.Metric.valueOf(metric),
                        data);
            default:
                return new DataSetLossCalculator(data, metric.equals("mean"));
        }
    }

    private static EpochTerminationCondition ofEpochs(JsonNode one) {
        JsonNode values = one.get("values");
        switch (one.get("type").asText()) {
            case "MaxEpochsTerminationCondition":
                return new MaxEpochsTerminationCondition(values.get(0).asInt());
            case "BestScoreEpochTerminationCondition":
                return new BestScoreEpochTerminationCondition(values.get(0).asDouble());
            default:
                return new ScoreImprovementEpochTerminationCondition(
                        values.get(0).asInt(), values.path(1).asDouble(0));
        }
    }

    private static IterationTerminationCondition ofIterations(JsonNode one) {
        JsonNode values = one.get("values");
        switch (one.get("type").asText()) {
            case "MaxTimeIterationTerminationCondition":
                return new MaxTimeIterationTerminationCondition(
                        values.get(0).asLong(), TimeUnit.SECONDS);
            case "MaxScoreIterationTerminationCondition":
                return new MaxScoreIterationTerminationCondition(values.get(0).asDouble());
            default:
                return new InvalidScoreIterationTerminationCondition();
        }
    }
}
