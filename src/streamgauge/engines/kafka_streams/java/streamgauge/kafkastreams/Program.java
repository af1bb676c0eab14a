package streamgauge.kafkastreams;

import org.apache.kafka.streams.Topology;
import streamgauge.Job;

/** Computes one workload. {@link streamgauge.Programs} finds the class by the workload's name. */
public interface Program {
  Topology topology(Job job);

  /** Whether a task that reads several topics processes their records in time order, waiting for an empty topic. */
  default boolean ordersTopics() {
    return false;
  }
}
