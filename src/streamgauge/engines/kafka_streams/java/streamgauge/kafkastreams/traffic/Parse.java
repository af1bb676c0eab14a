package streamgauge.kafkastreams.traffic;

import org.apache.kafka.streams.kstream.KStream;
import streamgauge.Job;
import streamgauge.kafkastreams.StreamProgram;
import streamgauge.traffic.Message;

/** Parses every message and publishes its fields. */
public final class Parse implements StreamProgram {
  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    return records.mapValues(value -> Message.parse(value).toJson());
  }
}
