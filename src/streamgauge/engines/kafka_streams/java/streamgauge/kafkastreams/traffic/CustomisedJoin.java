package streamgauge.kafkastreams.traffic;

import streamgauge.Job;
import streamgauge.traffic.Stage;

/** The join, in one processor that manages all state itself. */
public final class CustomisedJoin extends Customised {
  @Override
  Stage stage(Job job) {
    return Stage.join(job);
  }
}
