package streamgauge.kafkastreams;

/** A setting that the user gave and that Kafka does not know; Kafka itself would pass over it. */
final class UnknownSetting extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UnknownSetting(String name) {
    super("Kafka Streams knows no setting " + name);
  }
}
