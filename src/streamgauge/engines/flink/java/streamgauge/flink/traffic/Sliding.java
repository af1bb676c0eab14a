package streamgauge.flink.traffic;

import java.time.Duration;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.traffic.Changes;
import streamgauge.traffic.Sums;

/** The change of each point against earlier seconds, with Flink's sliding windows. */
public final class Sliding implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    int[] lookBacksS = Changes.lookBacksS(job);
    Duration window = Tumbling.SECOND.multipliedBy(lookBacksS[lookBacksS.length - 1] + 1L);
    return Tumbling.seconds(environment, job)
        .keyBy(second -> second.f0, Types.STRING)
        .window(SlidingEventTimeWindows.of(window, Tumbling.SECOND))
        .apply(new Comparing(lookBacksS), Topics.RECORD)
        .name("changes");
  }

  /** Compares the last second of a window with earlier ones; a window without a last second has no result. */
  private static final class Comparing
      implements WindowFunction<Tuple3<String, Long, Sums>, Tuple2<byte[], byte[]>, String, TimeWindow> {
    private static final long serialVersionUID = 1L;

    private final int[] lookBacksS;

    Comparing(int[] lookBacksS) {
      this.lookBacksS = lookBacksS;
    }

    @Override
    public void apply(String id, TimeWindow window, Iterable<Tuple3<String, Long, Sums>> seconds,
        Collector<Tuple2<byte[], byte[]>> out) {
      Sums now = null;
      Sums[] before = new Sums[lookBacksS.length];
      for (Tuple3<String, Long, Sums> second : seconds) {
        long back = (window.getEnd() - second.f1) / Sums.SECOND_MS;
        if (back == 0) {
          now = second.f2;
        }
        for (int i = 0; i < lookBacksS.length; i++) {
          if (back == lookBacksS[i]) {
            before[i] = second.f2;
          }
        }
      }
      if (now != null) {
        out.collect(Topics.result(id, Changes.toJson(id, window.getEnd(), lookBacksS, now, before)));
      }
    }
  }
}
