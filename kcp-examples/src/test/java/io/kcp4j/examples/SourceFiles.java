package io.kcp4j.examples;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** The files of the repository, without what a build writes. */
final class SourceFiles {

  static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private static final Set<String> SKIPPED_DIRECTORIES = Set.of("target", ".git", ".idea");

  private SourceFiles() {}

  /** The paths, relative to the root, for which the predicate holds, in order. */
  static List<Path> find(Predicate<Path> predicate) {
    try (Stream<Path> files = Files.walk(ROOT)) {
      return files
          .map(ROOT::relativize)
          .filter(SourceFiles::isSource)
          .filter(predicate)
          .filter(path -> Files.isRegularFile(ROOT.resolve(path)))
          .sorted()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isSource(Path path) {
    for (Path part : path) {
      if (SKIPPED_DIRECTORIES.contains(part.toString())) {
        return false;
      }
    }
    return true;
  }

  static List<String> lines(Path path) {
    try {
      return Files.readAllLines(ROOT.resolve(path));
    } catch (IOException e) {
      throw new UncheckedIOException(path.toString(), e);
    }
  }
}
