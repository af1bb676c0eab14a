package streamgauge.flink.streambench;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.streambench.Sampling;

/** A sample of the records. */
public final class Sample implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    Sampling sample = Sampling.of(job);
    return Topics.spread(environment, job).filter(record -> sample.holds(record.f0)).name("sample");
  }
}
