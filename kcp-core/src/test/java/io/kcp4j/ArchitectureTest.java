package io.kcp4j;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMethods;

import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Random;
import java.util.SplittableRandom;

/** Who may use whom, and what the core never does: it has no I/O, no clock, no threads. */
@AnalyzeClasses(packages = "io.kcp4j", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule stateMachineKnowsNothingOfSessions =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.kcp4j.session..");

  /** Measures kernels, which all compute the same, once and on a thread of its own. */
  private static final String KERNEL_CHOICE = "io.kcp4j.kernel";

  /** Memory of kernels, one for each thread, that means nothing from one call to the next. */
  private static final String KERNEL_SCRATCH = "io.kcp4j.fec.Scratch";

  /** The one thing that tables on several threads share; it starts none and waits for none. */
  private static final String SESSION_DIRECTORY = "io.kcp4j.session.SessionDirectory";

  /** Its keys grow old in real time. */
  private static final String NONCE_SOURCE = "io.kcp4j.crypto.NonceSource";

  @ArchTest
  static final ArchRule errorCorrectionKnowsNothingOfTheRestButTheBudget =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.fec..")
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("io.kcp4j..")
                  .and(not(resideInAnyPackage("io.kcp4j.fec..", KERNEL_CHOICE)))
                  .and(not(belongToAnyOf(MemoryBudget.class, Unstable.class))));

  @ArchTest
  static final ArchRule congestionControlDependsOnNothingElse =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.congestion..")
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("io.kcp4j..")
                  .and(not(resideInAnyPackage("io.kcp4j.congestion..")))
                  .and(not(belongToAnyOf(Unstable.class))));

  @ArchTest
  static final ArchRule noClocks =
      noClasses()
          .that()
          .resideOutsideOfPackage(KERNEL_CHOICE)
          .and()
          .doNotHaveFullyQualifiedName(NONCE_SOURCE)
          .should()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .dependOnClassesThat()
          .resideInAnyPackage("java.time..");

  @ArchTest
  static final ArchRule noThreadsAndNoTimers =
      noClasses()
          .that()
          .resideOutsideOfPackage(KERNEL_CHOICE)
          .and()
          .doNotHaveFullyQualifiedName(KERNEL_SCRATCH)
          .and()
          .doNotHaveFullyQualifiedName(SESSION_DIRECTORY)
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("java.util.concurrent", "java.util.concurrent.locks..")
                  .or(resideInAnyPackage("io.netty.util.concurrent.."))
                  .or(belongToAnyOf(Thread.class, ThreadLocal.class, java.util.Timer.class)));

  @ArchTest
  static final ArchRule noSynchronisation =
      noMethods().should().haveModifier(JavaModifier.SYNCHRONIZED);

  @ArchTest
  static final ArchRule cryptoKnowsNothingOfTheRest =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.crypto")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..")
                  .and(not(resideInAnyPackage("io.kcp4j.crypto", KERNEL_CHOICE)))
                  .and(not(belongToAnyOf(Unstable.class))));

  @ArchTest
  static final ArchRule choiceOfKernelsKnowsNothingOfThem =
      noClasses()
          .that()
          .resideInAPackage(KERNEL_CHOICE)
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..").and(not(resideInAPackage(KERNEL_CHOICE))));

  @ArchTest
  static final ArchRule noRandomnessButInCrypto =
      noClasses()
          .that()
          .resideOutsideOfPackage("io.kcp4j.crypto")
          .should()
          .dependOnClassesThat(
              belongToAnyOf(Random.class, SplittableRandom.class)
                  .or(resideInAnyPackage("java.security..", "java.util.random..")))
          .orShould()
          .callMethod(Math.class, "random");

  @ArchTest
  static final ArchRule noLoggers =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("java.util.logging..", "org.slf4j..", "io.netty.util.internal..")
          .orShould()
          .accessField(System.class, "out")
          .orShould()
          .accessField(System.class, "err");

  @ArchTest
  static final ArchRule noSockets =
      noClasses()
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("java.net..", "java.nio.channels..", "java.io..")
                  .and(not(belongToAnyOf(InetSocketAddress.class, InetAddress.class))));

  @ArchTest
  static final ArchRule noAddressesInTheStateMachine =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("java.net..");

  @ArchTest
  static final ArchRule noChannels =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.netty.channel..", "io.netty.bootstrap..", "io.netty.handler..");
}
