package streamgauge.kafkastreams.traffic;

import streamgauge.Job;
import streamgauge.traffic.Stage;

/** The sums of each point and second, in one processor that manages all state itself. */
public final class CustomisedTumbling extends Customised {
  @Override
  Stage stage(Job job) {
    return Stage.tumbling(job);
  }
}
