package streamgauge.flink.traffic;

import streamgauge.Job;
import streamgauge.traffic.Stage;

/** The changes of each point from second to second, in one function that manages all state itself. */
public final class CustomisedSliding extends Customised {
  @Override
  Stage stage(Job job) {
    return Stage.sliding(job);
  }
}
