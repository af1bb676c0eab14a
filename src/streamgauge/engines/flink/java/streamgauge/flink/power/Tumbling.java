package streamgauge.flink.power;

import java.time.Duration;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.power.Reading;

/** The sums of each sensor in windows that do not overlap. */
public final class Tumbling implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    return Windows.sums(Windows.readings(environment, job, Reading::sensor),
        TumblingEventTimeWindows.of(Duration.ofSeconds(job.parameter("window_s"))),
        (sensor, endMs, usage) -> Topics.result(String.valueOf(sensor), usage.ofSensor(sensor, endMs)), Topics.RECORD);
  }
}
