package streamgauge.flink.power;

import java.time.Duration;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.power.Reading;
import streamgauge.power.Tree;
import streamgauge.power.Usage;

/**
 * The sum of each group and second: windows of a second for each level, over the sums of the level below. One watermark
 * closes the same second on all levels.
 */
public final class Hierarchy implements Program {
  /** A group, the end of a second, and the sum. */
  private static final TypeInformation<Tuple3<Long, Long, Usage>> SUM =
      Types.TUPLE(Types.LONG, Types.LONG, Windows.USAGE);

  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    Tree tree = Tree.of(job);
    DataStream<Tuple2<Long, Usage>> members =
        Windows.readings(environment, job, reading -> tree.above(0, Reading.sensor(reading)));
    DataStream<Tuple2<byte[], byte[]>> results = null;
    for (int level = 1; level <= tree.height(); level++) {
      DataStream<Tuple3<Long, Long, Usage>> groups =
          Windows.sums(members, TumblingEventTimeWindows.of(Duration.ofSeconds(1)), Tuple3::of, SUM);
      DataStream<Tuple2<byte[], byte[]>> published = published(groups, level);
      results = results == null ? published : results.union(published);
      if (level < tree.height()) {
        int below = level;
        members = groups.map(sum -> Tuple2.of(tree.above(below, sum.f0), sum.f2), Windows.KEYED);
      }
    }
    return results;
  }

  private static DataStream<Tuple2<byte[], byte[]>> published(DataStream<Tuple3<Long, Long, Usage>> groups, int level) {
    return groups.map(sum -> Topics.result(level + ":" + sum.f0, sum.f2.ofGroup(level, sum.f0, sum.f1)), Topics.RECORD);
  }
}
