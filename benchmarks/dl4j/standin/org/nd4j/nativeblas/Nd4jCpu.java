package org.nd4j.nativeblas;

/**
 * Answers, under the name that DL4J 1.0.0-M2.1 looks up by reflection, that oneDNN may be used.
 *
 * <p>The class it means lies in another package since M2, so that as released no layer finds its
 * oneDNN helper. With this one in front of the class path, and
 * org.eclipse.deeplearning4j.helpers.disable=false, they are found: DL4J "repaired".
 */
public final class Nd4jCpu {
    private Nd4jCpu() {}

    public static final class Environment {
        private static final Environment ONLY = new Environment();

        private Environment() {}

        public static Environment getInstance() {
            return ONLY;
        }

        public boolean isUseMKLDNN() {
            return true;
        }
    }
}
