package bench;

import java.util.Map;
import java.util.TreeMap;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Gradient messages of threshold encoding, a thousandth of the elements in each. */
final class Threshold {
    static final Map<String, Integer> LENGTHS = new TreeMap<>(Map.of("1M", 1_000_000, "10M", 10_000_000));

    /** Of |x| for a normal x: a thousandth is above. */
    private static final double TAU = 3.2905267;

    private Threshold() {}

    static Server.Work make(String what) {
        String[] words = what.split("-");
        INDArray update = Nd4j.randn(DataType.FLOAT, LENGTHS.get(words[1]));
        INDArray residual = update.dup();
        if (words[0].equals("decode")) {
            INDArray message = Nd4j.getExecutioner().thresholdEncode(residual, TAU);
            return new Server.Work(() -> Nd4j.getExecutioner().thresholdDecode(message, residual), () -> {});
        }
        Runnable encode = () -> {
            residual.addi(update);
            Nd4j.getExecutioner().thresholdEncode(residual, TAU);
        };
        return new Server.Work(encode, () -> residual.assign(0));
    }
}
