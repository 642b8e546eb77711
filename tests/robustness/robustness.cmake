# The campaigns: programs that mistreat the lessons. A short part of each runs with all tests, with a fixed number of
# seeded rounds; the long part (ctest -C Long) goes on until its time is up.
if(NOT TAPESTRY_BUILD_LESSONS)
  return()
elseif(NOT Python3_Interpreter_FOUND)
  message(STATUS "The campaigns are left out: they need Python 3")
  return()
endif()
set(faults "")
if(NOT TAPESTRY_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")  # a sanitizer wants to be the first library
  add_library(campaign_faults MODULE robustness/faults.cpp)
  target_compile_features(campaign_faults PRIVATE cxx_std_20)
  target_compile_options(campaign_faults PRIVATE ${TAPESTRY_WARNINGS})
  target_link_libraries(campaign_faults PRIVATE ${CMAKE_DL_LIBS})
  set(faults --faults $<TARGET_FILE:campaign_faults>)
endif()
set(sanitized "")
set(mpirun "")
if(TAPESTRY_SANITIZE)
  set(sanitized --sanitized)
elseif(TAPESTRY_MPIRUN)  # not under a sanitizer, which finds MPI's own leaks
  set(mpirun --mpirun ${TAPESTRY_MPIRUN})
endif()

# tapestry_campaign(name ROUNDS of the short part, SECONDS of the long one).
function(tapestry_campaign name rounds seconds)
  set(command ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/robustness/${name}.py
      --lessons ${PROJECT_BINARY_DIR}/lessons ${faults} ${sanitized} ${mpirun})
  add_test(NAME robustness/${name} COMMAND ${command} --fast --rounds ${rounds})
  # Under a sanitizer hostile_texts takes two minutes: begun last, it would leave the other processors idle.
  set_tests_properties(robustness/${name} PROPERTIES LABELS robustness TIMEOUT 600 COST 100
                       SKIP_REGULAR_EXPRESSION "skipped:")
  add_test(NAME long/robustness/${name} COMMAND ${command} --seconds ${seconds} CONFIGURATIONS Long)
  set_tests_properties(long/robustness/${name} PROPERTIES LABELS long TIMEOUT 3600 SKIP_REGULAR_EXPRESSION "skipped:")
endfunction()
tapestry_campaign(killer 3 120)
tapestry_campaign(disk_errors 15 120)
tapestry_campaign(bad_options 200 120)
tapestry_campaign(hostile_texts 25 120)
tapestry_campaign(other_ranks 8 120)
tapestry_campaign(script_options 25 120)
if(TARGET practise)
  tapestry_campaign(grader_turns 4 180)
endif()
