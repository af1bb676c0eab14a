package streamgauge.flink.streambench;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;

/** Every record, unchanged. */
public final class Identity implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    return Topics.spread(environment, job);
  }
}
