package streamgauge.flink;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;

/** What computes one workload. The class that does is found by the workload's name ({@link streamgauge.Programs}). */
public interface Program {
  /** Key and value of every result; of a workload without an output, whatever is to be thrown away. */
  DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job);
}
