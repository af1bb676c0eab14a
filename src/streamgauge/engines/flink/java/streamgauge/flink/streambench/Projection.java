package streamgauge.flink.streambench;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;

/** One field of every record. */
public final class Projection implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    int field = (int) job.parameter("field");
    return Topics.spread(environment, job)
        .map(record -> Tuple2.of(record.f0, Text.field(record.f1, '\t', field)), Topics.RECORD)
        .name("projection");
  }
}
