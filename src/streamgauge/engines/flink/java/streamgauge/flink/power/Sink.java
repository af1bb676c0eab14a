package streamgauge.flink.power;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.power.Reading;

/** Every reading as JSON, to be discarded: the workload has no output. */
public final class Sink implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    return Topics.untimed(environment, job)
        .map(record -> Tuple2.of(record.f0, Reading.toJson(record.f1)), Topics.RECORD);
  }
}
