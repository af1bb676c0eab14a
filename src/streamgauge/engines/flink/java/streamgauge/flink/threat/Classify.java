package streamgauge.flink.threat;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.threat.Network;

/** Class and score of every flow. */
public final class Classify implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    Network network = Network.of(job);
    return Topics.untimed(environment, job)
        .map(record -> Tuple2.of(record.f0, network.classify(record.f1)), Topics.RECORD)
        .name("classify");
  }
}
