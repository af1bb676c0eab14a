package streamgauge.flink.traffic;

import streamgauge.Job;
import streamgauge.traffic.Stage;

/** The seconds of each point, by one function that keeps all state itself. */
public final class CustomisedTumbling extends Customised {
  @Override
  Stage stage(Job job) {
    return Stage.tumbling(job);
  }
}
