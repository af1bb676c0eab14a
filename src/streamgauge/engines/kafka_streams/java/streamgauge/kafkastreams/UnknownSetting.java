package streamgauge.kafkastreams;

/** A user setting that Kafka does not know; Kafka itself would ignore it. */
final class UnknownSetting extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UnknownSetting(String name) {
    super("unknown Kafka Streams setting: " + name);
  }
}
