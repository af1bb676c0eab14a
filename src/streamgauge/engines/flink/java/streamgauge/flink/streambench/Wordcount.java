package streamgauge.flink.streambench;

import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.streambench.Counts;

/** The number of occurrences of each word of a field so far. */
public final class Wordcount implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    int field = (int) job.parameter("field");
    return Topics.spread(environment, job)
        .flatMap((record, out) -> split(Text.field(record.f1, '\t', field), out), Types.STRING)
        .name("words")
        .keyBy(word -> word, Types.STRING)
        .map(new Count(), Count.COUNTED)
        .name("counts")
        .map(counted -> result(counted.f0, counted.f1), Topics.RECORD);
  }

  private static Tuple2<byte[], byte[]> result(String word, long n) {
    byte[] key = word.getBytes(StandardCharsets.UTF_8);
    return Tuple2.of(key, Counts.ofWord(key, n));
  }

  private static void split(byte[] text, Collector<String> out) {
    for (byte[] word : Text.words(text, ' ')) {
      out.collect(new String(word, StandardCharsets.UTF_8));
    }
  }
}
