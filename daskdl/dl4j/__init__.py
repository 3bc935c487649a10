"""What is Deeplearning4j's."""
