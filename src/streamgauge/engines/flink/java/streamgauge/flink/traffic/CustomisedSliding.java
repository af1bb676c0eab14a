package streamgauge.flink.traffic;

import streamgauge.Job;
import streamgauge.traffic.Stage;

/** The changes of each point's seconds, by one function that keeps all state itself. */
public final class CustomisedSliding extends Customised {
  @Override
  Stage stage(Job job) {
    return Stage.sliding(job);
  }
}
