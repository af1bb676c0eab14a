package streamgauge.flink.power;

import java.io.Serializable;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import streamgauge.Job;
import streamgauge.flink.CompactType;
import streamgauge.flink.Topics;
import streamgauge.power.Reading;
import streamgauge.power.Usage;

/** What the programs have in common: sums over windows of event time. */
final class Windows {
  static final TypeInformation<Usage> USAGE = new CompactType<>(Usage.class);

  /** A key and what belongs to it. */
  static final TypeInformation<Tuple2<Long, Usage>> KEYED = Types.TUPLE(Types.LONG, USAGE);

  /** Makes the result of a key and window. */
  interface Result<T> extends Serializable {
    T of(long key, long windowEndMs, Usage usage);
  }

  private Windows() {}

  /** Each reading with this key. */
  static DataStream<Tuple2<Long, Usage>> readings(
      StreamExecutionEnvironment environment, Job job, MapFunction<byte[], Long> key) {
    return Topics.timedBy(environment, job, "readings", (record, appendedMs) -> Reading.eventMs(record.f1))
        .map(record -> Tuple2.of(key.map(record.f1), Usage.NONE.add(Reading.watts(record.f1))), KEYED);
  }

  /** The sum of each key and window, which has the last moment of the window as its event time. */
  static <T> DataStream<T> sums(DataStream<Tuple2<Long, Usage>> keyed, WindowAssigner<Object, TimeWindow> windows,
      Result<T> result, TypeInformation<T> type) {
    return keyed.keyBy(one -> one.f0, Types.LONG)
        .window(windows)
        .aggregate(new Summing(),
            (key, window, usages, out)
                -> out.collect(result.of(key, window.getEnd(), usages.iterator().next())),
            USAGE, type);
  }

  private static final class Summing implements AggregateFunction<Tuple2<Long, Usage>, Usage, Usage> {
    private static final long serialVersionUID = 1L;

    @Override
    public Usage createAccumulator() {
      return Usage.NONE;
    }

    @Override
    public Usage add(Tuple2<Long, Usage> one, Usage sum) {
      return sum.plus(one.f1);
    }

    @Override
    public Usage getResult(Usage sum) {
      return sum;
    }

    @Override
    public Usage merge(Usage one, Usage other) {
      return one.plus(other);
    }
  }
}
