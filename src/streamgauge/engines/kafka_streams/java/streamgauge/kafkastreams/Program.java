package streamgauge.kafkastreams;

import org.apache.kafka.streams.Topology;
import streamgauge.Job;

/** What computes one workload. The class that does is found by the workload's name ({@link streamgauge.Programs}). */
public interface Program {
  Topology topology(Job job);

  /** Whether a task that reads several topics takes their records in the order of time, and waits for a late one. */
  default boolean ordersTopics() {
    return false;
  }
}
