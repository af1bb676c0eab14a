package streamgauge.flink.games;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.games.Event;

/** Every purchase, unchanged. */
public final class Identity implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    return Topics.untimed(environment, job, "purchases")
        .map(record -> Topics.result(String.valueOf(Event.gemPack(record.f1)), record.f1), Topics.RECORD);
  }
}
