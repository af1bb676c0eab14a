package streamgauge.flink;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;

/** Computes one workload. {@link streamgauge.Programs} finds the class by the workload's name. */
public interface Program {
  /** Key and value of every result; for a workload without an output, the records to discard. */
  DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job);
}
