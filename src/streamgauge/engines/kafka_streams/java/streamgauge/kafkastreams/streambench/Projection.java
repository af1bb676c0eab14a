package streamgauge.kafkastreams.streambench;

import org.apache.kafka.streams.kstream.KStream;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.kafkastreams.StreamProgram;

/** Publishes one field of every record. */
public final class Projection implements StreamProgram {
  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    int field = (int) job.parameter("field");
    return records.mapValues(value -> Text.field(value, '\t', field));
  }
}
