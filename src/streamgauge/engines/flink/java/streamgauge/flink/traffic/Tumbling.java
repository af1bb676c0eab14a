package streamgauge.flink.traffic;

import java.time.Duration;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import streamgauge.Job;
import streamgauge.flink.CompactType;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.traffic.Pair;
import streamgauge.traffic.Sums;

/** The sums of the joined records of each point and second, with Flink's tumbling windows. */
public final class Tumbling implements Program {
  static final Duration SECOND = Duration.ofMillis(Sums.SECOND_MS);

  private static final TypeInformation<Sums> SUMS = new CompactType<>(Sums.class);
  private static final TypeInformation<Tuple3<String, Long, Sums>> SECOND_OF_POINT =
      Types.TUPLE(Types.STRING, Types.LONG, SUMS);

  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    return seconds(environment, job)
        .map(second -> Topics.result(second.f0, second.f2.toJson(second.f0, second.f1)), Topics.RECORD);
  }

  /** Point, end of the second, and sums. */
  static DataStream<Tuple3<String, Long, Sums>> seconds(StreamExecutionEnvironment environment, Job job) {
    return Join.pairs(environment, job)
        .keyBy(Pair::id, Types.STRING)
        .window(TumblingEventTimeWindows.of(SECOND))
        .aggregate(new Summing(),
            (id, window, sums, out)
                -> out.collect(Tuple3.of(id, window.getEnd(), sums.iterator().next())),
            SUMS, SECOND_OF_POINT)
        .name("seconds");
  }

  private static final class Summing implements AggregateFunction<Pair, Sums, Sums> {
    private static final long serialVersionUID = 1L;

    @Override
    public Sums createAccumulator() {
      return Sums.NONE;
    }

    @Override
    public Sums add(Pair pair, Sums sums) {
      return sums.add(pair);
    }

    @Override
    public Sums getResult(Sums sums) {
      return sums;
    }

    @Override
    public Sums merge(Sums one, Sums other) {
      return one.merge(other);
    }
  }
}
