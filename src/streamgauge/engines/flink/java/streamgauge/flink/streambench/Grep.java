package streamgauge.flink.streambench;

import java.nio.charset.StandardCharsets;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;

/** The records that contain a text. */
public final class Grep implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    byte[] pattern = job.textParameter("pattern").getBytes(StandardCharsets.UTF_8);
    return Topics.spread(environment, job).filter(record -> Text.contains(record.f1, pattern)).name("grep");
  }
}
