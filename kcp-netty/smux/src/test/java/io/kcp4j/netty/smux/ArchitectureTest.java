package io.kcp4j.netty.smux;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.kcp4j.Unstable;
import io.kcp4j.netty.internal.ConnectionMemory;
import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;

/** The dependencies of smux, which runs over any connection; see src/docs/architecture.md. */
@AnalyzeClasses(packages = "io.kcp4j", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule smuxDependsOnlyOnTheScheduler =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.smux..")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..")
                  .and(not(resideInAnyPackage("io.kcp4j.smux..", "io.kcp4j.internal.scheduling..")))
                  .and(not(belongToAnyOf(ConnectionMemory.class, Unstable.class))))
          .orShould()
          .dependOnClassesThat()
          .resideInAnyPackage("io.netty.channel..", "io.netty.bootstrap..", "io.netty.handler..");

  @ArchTest
  static final ArchRule streamsRunOnAnyConnection =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.netty.smux..")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..")
                  .and(
                      not(
                          resideInAnyPackage(
                              "io.kcp4j.netty.smux..",
                              "io.kcp4j.netty.internal..",
                              "io.kcp4j.smux.."))));

  @ArchTest
  static final ArchRule onlyTheConnectionReadsTheClock =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.smux..")
          .should()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .callMethod(System.class, "nanoTime");

  @ArchTest
  static final ArchRule publicClassesAreStableApiOrMarkedUnstable =
      classes()
          .that()
          .resideInAPackage("io.kcp4j.smux")
          .and()
          .arePublic()
          .and()
          .areTopLevelClasses()
          .should()
          .beAnnotatedWith(Unstable.class)
          .orShould()
          .be(SmuxConfig.class)
          .orShould()
          .be(SmuxException.class);
}
