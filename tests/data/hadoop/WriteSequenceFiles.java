import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.function.IntFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.*;
import org.apache.hadoop.io.SequenceFile.CompressionType;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.util.ReflectionUtils;

/** Writes the files beside it: java -cp 'pyspark/jars/*' WriteSequenceFiles.java DIRECTORY */
public class WriteSequenceFiles {
    public static class DoubleArrayWritable extends ArrayWritable {
        public DoubleArrayWritable() {
            super(DoubleWritable.class);
        }

        public DoubleArrayWritable(double... values) {
            this();
            Writable[] elements = new Writable[values.length];
            for (int i = 0; i < values.length; i++) elements[i] = new DoubleWritable(values[i]);
            set(elements);
        }
    }

    private static final Configuration CONF = new Configuration();
    private static String directory;

    private static void write(
            String name, CompressionType type, CompressionCodec codec, int count, IntFunction<Writable[]> pair)
            throws Exception {
        SequenceFile.Metadata metadata = new SequenceFile.Metadata();
        metadata.set(new Text("written by"), new Text("a test"));
        try (SequenceFile.Writer writer = SequenceFile.createWriter(
                CONF,
                SequenceFile.Writer.file(new Path(directory, name)),
                SequenceFile.Writer.keyClass(pair.apply(0)[0].getClass()),
                SequenceFile.Writer.valueClass(pair.apply(0)[1].getClass()),
                SequenceFile.Writer.metadata(metadata),
                SequenceFile.Writer.syncInterval(1000),
                SequenceFile.Writer.compression(type, codec))) {
            for (int i = 0; i < count; i++) writer.append(pair.apply(i)[0], pair.apply(i)[1]);
        }
    }

    private static void plain(String name, int count, IntFunction<Writable[]> pair) throws Exception {
        write(name, CompressionType.NONE, null, count, pair);
    }

    private static Writable[] pair(Writable key, Writable value) {
        return new Writable[] {key, value};
    }

    public static void main(String[] arguments) throws Exception {
        directory = arguments[0];
        CONF.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
        // So that a value makes several chunks of Snappy and LZ4, and a file several blocks.
        CONF.setInt("io.compression.codec.snappy.buffersize", 500);
        CONF.setInt("io.compression.codec.lz4.buffersize", 500);
        CONF.setInt("io.seqfile.compress.blocksize", 12000);
        String[] codecs = {"DefaultCodec", "DeflateCodec", "GzipCodec", "BZip2Codec", "SnappyCodec", "Lz4Codec"};
        for (String name : codecs) {
            Class<?> codecClass = Class.forName("org.apache.hadoop.io.compress." + name);
            CompressionCodec codec = (CompressionCodec) ReflectionUtils.newInstance(codecClass, CONF);
            for (CompressionType type : new CompressionType[] {CompressionType.RECORD, CompressionType.BLOCK})
                write(type + "_" + name, type, codec, 40,
                        i -> pair(new IntWritable(i - 20), new Text("é" + "ab".repeat(20 * i))));
        }
        plain("int_text", 40, i -> pair(new IntWritable(i - 20), new Text("é" + "ab".repeat(i))));
        plain("vint_vlong", 62, i -> pair(
                new VIntWritable((i % 2 == 0 ? 1 : -1) * (1 << i / 2)), new VLongWritable((1L << i) - 5)));
        plain("float_double", 5, i -> pair(new FloatWritable(i / 2f), new DoubleWritable(i / 3.0)));
        plain("boolean_byte", 5, i -> pair(new BooleanWritable(i % 2 == 1), new ByteWritable((byte) (i - 2))));
        plain("short_array", 5, i -> pair(
                new ShortWritable((short) (i - 2)), new DoubleArrayWritable(i, i / 2.0, -i)));
        plain("null_long", 5, i -> pair(NullWritable.get(), new LongWritable(i - (1L << 40))));
        plain("empty", 0, i -> pair(NullWritable.get(), new Text()));
        Path map = new Path(directory, "map/part-r-00000");
        try (MapFile.Writer writer = new MapFile.Writer(
                CONF, map, MapFile.Writer.keyClass(LongWritable.class), MapFile.Writer.valueClass(DoubleWritable.class))) {
            for (int i = 0; i < 300; i++) writer.append(new LongWritable(i), new DoubleWritable(i / 2.0));
        }
        Files.createFile(Paths.get(directory, "map", "_SUCCESS"));
    }
}
