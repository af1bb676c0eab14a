package streamgauge.kafkastreams.streambench;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.streams.kstream.KStream;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.kafkastreams.StreamProgram;

/** Publishes the records that contain a text. */
public final class Grep implements StreamProgram {
  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    byte[] pattern = job.textParameter("pattern").getBytes(StandardCharsets.UTF_8);
    return records.filter((key, value) -> Text.contains(value, pattern));
  }
}
