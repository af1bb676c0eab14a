package streamgauge.flink.power;

import java.time.Duration;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.power.Reading;
import streamgauge.power.Usage;

/** The sums of each sensor and second modulo seven in windows that overlap. */
public final class Hopping implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    Duration length = Duration.ofSeconds(job.parameter("window_s"));
    Duration period = Duration.ofMillis(job.parameter("period_ms"));
    return Windows.sums(Windows.readings(environment, job, Hopping::key), SlidingEventTimeWindows.of(length, period),
        Hopping::result, Topics.RECORD);
  }

  private static long key(byte[] reading) {
    return Reading.sensor(reading) * Reading.SLOTS + Reading.slot(reading);
  }

  private static Tuple2<byte[], byte[]> result(long key, long endMs, Usage usage) {
    long sensor = key / Reading.SLOTS;
    long slot = key % Reading.SLOTS;
    return Topics.result(sensor + ":" + slot, usage.ofSlot(sensor, slot, endMs));
  }
}
