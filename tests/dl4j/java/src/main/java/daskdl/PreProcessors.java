package daskdl;

import java.util.LinkedHashMap;
import java.util.Map;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.dataset.api.DataSetPreProcessor;
import org.nd4j.linalg.dataset.api.preprocessor.CompositeDataSetPreProcessor;
import org.nd4j.linalg.dataset.api.preprocessor.CropAndResizeDataSetPreProcessor;
import org.nd4j.linalg.dataset.api.preprocessor.ImageFlatteningDataSetPreProcessor;
import org.nd4j.linalg.dataset.api.preprocessor.ImageMultiPreProcessingScaler;
import org.nd4j.linalg.dataset.api.preprocessor.ImagePreProcessingScaler;
import org.nd4j.linalg.dataset.api.preprocessor.LabelLastTimeStepPreProcessor;
import org.nd4j.linalg.dataset.api.preprocessor.PermuteDataSetPreProcessor;
import org.nd4j.linalg.dataset.api.preprocessor.RGBtoGrayscaleDataSetPreProcessor;
import org.nd4j.linalg.dataset.api.preprocessor.classimbalance.UnderSamplingByMaskingMultiDataSetPreProcessor;
import org.nd4j.linalg.dataset.api.preprocessor.classimbalance.UnderSamplingByMaskingPreProcessor;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.shade.jackson.databind.JsonNode;

/** What DL4J's preprocessors make of data sets in files; "how" is their to_dict here. */
final class PreProcessors {
    private PreProcessors() {}

    static Map<String, Object> preProcess(JsonNode command) throws Exception {
        String path = command.get("path").asText();
        JsonNode how = command.get("how");
        if (how.get("type").asText().equals("multi_image_min_max")) {
            MultiDataSet data = Stored.loadMulti(path);
            multiScaler(how).preProcess(data);
            data.save(Stored.out(command));
        } else {
            DataSet data = Stored.load(path);
            preProcessor(how).preProcess(data);
            data.save(Stored.out(command));
        }
        return Map.of();
    }

    /** Writes how often each step was kept in so many draws, as a share. */
    static Map<String, Object> shareKept(JsonNode command) throws Exception {
        int draws = command.get("draws").asInt();
        INDArray kept = null;
        Sampler sampler = sampler(command);
        for (int i = 0; i < draws; i++) {
            INDArray mask = sampler.draw();
            kept = kept == null ? mask.castTo(Nd4j.defaultFloatingPointType()) : kept.addi(mask);
        }
        Stored.write(kept.divi(draws), Stored.out(command));
        return Map.of();
    }

    private interface Sampler {
        INDArray draw();
    }

    private static Sampler sampler(JsonNode command) throws Exception {
        String path = command.get("path").asText();
        JsonNode how = command.get("how");
        if (!how.get("type").asText().startsWith("multi_")) {
            DataSet data = Stored.load(path);
            DataSetPreProcessor one = preProcessor(how);
            return () -> {
                DataSet copy = data.copy();
                one.preProcess(copy);
                return copy.getLabelsMaskArray();
            };
        }
        Map<Integer, Double> shares = new LinkedHashMap<>();
        how.get("target_minority_dist").fields().forEachRemaining(entry ->
                shares.put(Integer.valueOf(entry.getKey()), entry.getValue().asDouble()));
        UnderSamplingByMaskingMultiDataSetPreProcessor multi =
                new UnderSamplingByMaskingMultiDataSetPreProcessor(
                        shares, how.get("window_size").asInt());
        how.get("minority_labels").fields().forEachRemaining(entry ->
                multi.overrideMinorityDefault(Integer.parseInt(entry.getKey())));
        MultiDataSet data = Stored.loadMulti(path);
        return () -> {
            MultiDataSet copy = (MultiDataSet) data.copy();
            multi.preProcess(copy);
            return copy.getLabelsMaskArray(command.get("output").asInt());
        };
    }

    private static ImageMultiPreProcessingScaler multiScaler(JsonNode how) {
        int[] indices = ints(how.get("feature_indices"));
        int bits = (int) Math.round(
                Math.log(how.get("max_pixel_value").asDouble() + 1) / Math.log(2));
        return new ImageMultiPreProcessingScaler(
                how.get("min_range").asDouble(), how.get("max_range").asDouble(), bits,
                indices);
    }

    private static DataSetPreProcessor preProcessor(JsonNode how) {
        switch (how.get("type").asText()) {
            case "composite":
                JsonNode all = how.get("pre_processors");
                DataSetPreProcessor[] each = new DataSetPreProcessor[all.size()];
                for (int i = 0; i < each.length; i++) {
                    each[i] = preProcessor(all.get(i));
                }
                return new CompositeDataSetPreProcessor(each);
            case "crop_and_resize":
                boolean bilinear = how.get("resize_method").asText().equals("bilinear");
                return new CropAndResizeDataSetPreProcessor(
                        how.get("original_height").asInt(),
                        how.get("original_width").asInt(),
                        how.get("crop_y_start").asInt(),
                        how.get("crop_x_start").asInt(),
                        how.get("resized_height").asInt(),
                        how.get("resized_width").asInt(),
                        how.get("num_channels").asInt(),
                        bilinear
                                ? CropAndResizeDataSetPreProcessor.ResizeMethod.Bilinear
                                : CropAndResizeDataSetPreProcessor.ResizeMethod.NearestNeighbor);
            case "image_flattening":
                return new ImageFlatteningDataSetPreProcessor();
            case "image_min_max":
                return new ImagePreProcessingScaler(
                        how.get("min_range").asDouble(), how.get("max_range").asDouble());
            case "label_last_time_step":
                return new LabelLastTimeStepPreProcessor();
            case "permute":
                return new PermuteDataSetPreProcessor(ints(how.get("permutation")));
            case "rgb_to_grayscale":
                return new RGBtoGrayscaleDataSetPreProcessor();
            default:
                return underSampling(how);
        }
    }

    private static DataSetPreProcessor underSampling(JsonNode how) {
        UnderSamplingByMaskingPreProcessor made = new UnderSamplingByMaskingPreProcessor(
                how.get("target_minority_dist").asDouble(), how.get("window_size").asInt());
        if (how.get("minority_label").asInt() == 0) {
            made.overrideMinorityDefault();
        }
        if (!how.get("mask_all_majority_windows").asBoolean()) {
            made.donotMaskAllMajorityWindows();
        }
        if (!how.get("mask_minority_windows").asBoolean()) {
            made.donotMaskMinorityWindows();
        }
        return made;
    }

    private static int[] ints(JsonNode list) {
        int[] found = new int[list.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = list.get(i).asInt();
        }
        return found;
    }
}
