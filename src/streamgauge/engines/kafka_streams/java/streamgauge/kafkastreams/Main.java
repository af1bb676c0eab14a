package streamgauge.kafkastreams;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KafkaStreams.State;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import streamgauge.Job;
import streamgauge.Programs;
import streamgauge.Protocol;

/** One instance of the application. Arguments: its state directory, and the job file shared by all instances. */
public final class Main {
  private static final Duration CLOSE_WITHIN = Duration.ofSeconds(10);

  private final Job job;
  private final KafkaStreams streams;
  private final AtomicBoolean ready = new AtomicBoolean();
  private final AtomicBoolean failed = new AtomicBoolean();
  private final CountDownLatch ended = new CountDownLatch(1);

  private Main(Job job, Path stateDir) {
    this.job = job;
    Program program = Programs.find(job, Program.class);
    this.streams = new KafkaStreams(program.topology(job), Settings.of(job, stateDir, program.ordersTopics()));
  }

  public static void main(String[] args) throws IOException, InterruptedException {
    Job job = Job.read(Path.of(args[args.length - 1]));
    try {
      new Main(job, Path.of(args[0])).run();
    } catch (UnknownSetting mistake) {
      Protocol.emit("failed", Map.of("message", mistake.getMessage(), "usage", true));
      System.exit(1);
    } catch (KafkaException problem) {
      problem.printStackTrace();
      Protocol.failed(rootOf(problem));
      System.exit(1);
    }
  }

  private void run() throws InterruptedException {
    streams.setStateListener((now, before) -> look(now));
    streams.setUncaughtExceptionHandler(this::fail);
    Runtime.getRuntime().addShutdownHook(new Thread(this::stop));
    streams.start();
    ended.await();
    if (failed.get()) {
      System.exit(1);
    }
  }

  private void look(State now) {
    if (now == State.RUNNING) {
      Protocol.assigned(inputPartitions());
    }
    if (now == State.RUNNING && holdsItsShare() && ready.compareAndSet(false, true)) {
      Protocol.ready();
    } else if (now == State.ERROR || now == State.NOT_RUNNING) {
      ended.countDown();
    }
  }

  /** An instance that joins others enters RUNNING before they have handed over its share of the tasks. */
  private boolean holdsItsShare() {
    int tasks = streams.metadataForLocalThreads().stream().mapToInt(thread -> thread.activeTasks().size()).sum();
    return tasks >= job.partitions() / job.number("instances");
  }

  /** Not those of repartition topics, which instances without input may read. */
  private long inputPartitions() {
    return streams.metadataForLocalThreads()
        .stream()
        .flatMap(thread -> thread.activeTasks().stream())
        .flatMap(task -> task.topicPartitions().stream())
        .filter(partition -> job.inputs().contains(partition.topic()))
        .distinct()
        .count();
  }

  private StreamThreadExceptionResponse fail(Throwable problem) {
    if (failed.compareAndSet(false, true)) {
      problem.printStackTrace();
      Protocol.failed(rootOf(problem));
    }
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
  }

  /** On SIGTERM and after a failure. Halts, because the JVM would exit with the code of the signal. */
  private void stop() {
    boolean closed = streams.close(CLOSE_WITHIN);
    if (!closed) {
      Protocol.warning("did not close within " + CLOSE_WITHIN.toSeconds() + " s");
    }
    if (!failed.get()) {
      Protocol.stopped();
    }
    Runtime.getRuntime().halt(failed.get() ? 1 : 0);
  }

  private static String rootOf(Throwable problem) {
    Throwable root = problem;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root.getClass().getSimpleName() + ": " + root.getMessage();
  }
}
