package streamgauge.flink.clicks;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import streamgauge.Job;
import streamgauge.clicks.Click;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;

/** Counts the clicks of each page and second of event time. Flink drops records behind the watermark. */
public final class Windowed implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    return Topics.timedBy(environment, job, "clicks", (record, appendedMs) -> Click.eventMs(record.f1))
        .keyBy(record -> new String(record.f0, StandardCharsets.UTF_8), Types.STRING)
        .window(TumblingEventTimeWindows.of(Duration.ofMillis(Click.WINDOW_MS)))
        .aggregate(new Count(),
            (page, window, counts, out)
                -> out.collect(result(page, window.getEnd(), counts.iterator().next())),
            Types.LONG, Topics.RECORD)
        .name("windows");
  }

  private static Tuple2<byte[], byte[]> result(String page, long endMs, long n) {
    byte[] key = page.getBytes(StandardCharsets.UTF_8);
    return Tuple2.of(key, Click.toJson(key, endMs, n));
  }

  private static final class Count implements AggregateFunction<Tuple2<byte[], byte[]>, Long, Long> {
    private static final long serialVersionUID = 1L;

    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Tuple2<byte[], byte[]> record, Long n) {
      return n + 1;
    }

    @Override
    public Long getResult(Long n) {
      return n;
    }

    @Override
    public Long merge(Long one, Long other) {
      return one + other;
    }
  }
}
