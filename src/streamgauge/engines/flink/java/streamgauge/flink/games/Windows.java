package streamgauge.flink.games;

import java.time.Duration;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import streamgauge.Job;
import streamgauge.flink.Topics;
import streamgauge.games.Event;

/** What both programs have in common. */
final class Windows {
  private Windows() {}

  static DataStream<Tuple2<byte[], byte[]>> events(StreamExecutionEnvironment environment, Job job, String stream) {
    return Topics.timedBy(environment, job, stream, (record, appendedMs) -> Event.eventMs(record.f1));
  }

  static SlidingEventTimeWindows of(Job job) {
    return SlidingEventTimeWindows.of(
        Duration.ofSeconds(job.parameter("window_s")), Duration.ofSeconds(job.parameter("slide_s")));
  }
}
